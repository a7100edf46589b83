"""The size of a tool's definition: what Claude reads of it in every conversation."""

from context_protection.configuration.policies import policy_for
from context_protection.core.budget import dumps
from context_protection.core.policy import Policy
from context_protection.core.tokens import claude
from gateway.catalog.definition import ToolDefinition


def definition_tokens(definition: ToolDefinition, policy: Policy | None = None) -> int:
    """The tokens of name, description and schema, under the budget of all operations if no other is given. Clients keep
    titles and hints to themselves."""
    policy = policy or policy_for("")
    document = {
        "name": definition.name,
        "description": definition.published_description(policy),
        "inputSchema": definition.listed_schema(policy),
    }
    return claude.count(dumps(document).decode())
