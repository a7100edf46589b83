"""The size of a tool's definition, as people see it before they switch the tool on."""

from context_protection.configuration.policies import policy_for
from context_protection.core.budget import dumps
from context_protection.core.tokens import claude
from gateway.catalog.definition import ToolDefinition


def definition_tokens(definition: ToolDefinition) -> int:
    """The tokens that Claude reads of the definition in a tool list, under the budget of all operations."""
    policy = policy_for("")
    document = {
        "name": definition.name,
        "title": definition.title,
        "description": definition.published_description(policy),
        "inputSchema": definition.listed_schema(policy),
    }
    return claude.count(dumps(document).decode())
