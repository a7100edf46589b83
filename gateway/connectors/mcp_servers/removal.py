"""Removing a server also removes its tools. Those of a server that was taken out of the file are only marked, so that
their switches are there again when it comes back."""

from collections.abc import Iterable
from typing import Any

from django.db.models.signals import post_delete
from django.dispatch import receiver

from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.models import McpServer, McpTool, ToolList, may_be_in_file


@receiver(post_delete, sender=McpServer)
def forget(instance: McpServer, **_: Any) -> None:
    """Keeps the tools if the file has a server of this name: it has moved there."""
    if may_be_in_file(instance.name):
        return
    for model in (ToolList, McpTool):
        model._default_manager.filter(server=instance.name).delete()


def mark_gone(servers: Iterable[Server]) -> None:
    """Marks the tools of all servers but these, and those that are switched off in the admin."""
    present = {server.name for server in servers} | set(McpServer.objects.values_list("name", flat=True))
    McpTool.objects.filter(is_gone=False).exclude(server__in=present).update(is_gone=True)
