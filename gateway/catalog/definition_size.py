"""The size of the part of a tool's definition that Claude reads in every conversation."""

from context_protection.configuration.policies import policy_for
from context_protection.core.budget import dumps
from context_protection.core.policy import Policy
from context_protection.core.tokens import claude
from gateway.catalog.definition import ToolDefinition


def definition_tokens(definition: ToolDefinition, policy: Policy | None = None) -> int:
    """The tokens of the name, description and schema. `policy`: by default that of all operations. Titles and hints do
    not count, because clients do not pass them to the model."""
    policy = policy or policy_for("")
    document = {
        "name": definition.name,
        "description": definition.published_description(policy),
        "inputSchema": definition.listed_schema(policy),
    }
    return claude.count(dumps(document).decode())
