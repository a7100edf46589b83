"""Maps the reason of an error to the party that has to act on the failed call. A reason that is not declared here fails
a test."""

from collections.abc import Mapping

from context_protection.core.errors import CallError, InternalError, StoreUnavailable
from gateway.upstreams.errors import UpstreamGarbled
from telemetry.measurement import Origin

CANCELLED = "cancelled"

# Sluice's own faults, unavailable stores and exhausted capacity.
SLUICE = """
    answer_crashed busy condensing_failed indexing internal_error not_dividable sql_busy sql_unavailable
    store_unavailable upstream_crowded
"""
# The upstream did not answer, or its answer or its tool is wrong. Rejected credentials are shown with the upstream that
# rejects them.
UPSTREAM = """
    foreign_next_page upstream_asks_back upstream_busy upstream_closed upstream_credentials upstream_empty_pages
    upstream_error upstream_failed upstream_garbled upstream_redirect upstream_task_only upstream_timeout
    upstream_unavailable upstream_unknown_tool upstream_unreachable
"""
# Limits and permissions that ops set.
POLICY = """
    https_required names_too_long no_project project_unreadable quota_exceeded result_too_large timeout too_many_groups
    too_many_rows upstream_address upstream_rate upstream_too_large value_too_long withheld_field
"""
# A wrong key, argument, cursor, statement or request.
CALLER = f"""
    {CANCELLED}
    bad_request body_too_large headers_too_large invalid_host invalid_origin invalid_subprotocol locked_out
    method_not_allowed not_authenticated not_initialized not_permitted csrf_failed request_timeout unknown_address
    too_deep too_large telemetry_not_allowed
    too_many_fields too_many_values unsupported_media_type not_acceptable parse_error error
    unknown_revision upgrade_required
    cursor_expired cursor_invalid cursor_mismatch handle_expired handle_invalid
    client_capability_missing question_closed question_unclear
    import_problem imported_meanwhile secret_problem unknown_authentication
    invalid_address invalid_aggregate invalid_arguments invalid_base64 invalid_commit invalid_content_type invalid_diff
    invalid_event invalid_fields invalid_format invalid_handles invalid_json invalid_limit invalid_message invalid_name
    invalid_pages
    invalid_parameters invalid_path invalid_project invalid_query invalid_range
    invalid_response invalid_rows invalid_search invalid_sql invalid_value invalid_where
    missing_argument no_changes not_found path_refused repeated_argument sql_too_large tool_acts unknown_argument
    unknown_field
    forbidden_sql sql_memory sql_timeout sql_too_wide unknown_column
    unknown_operation unknown_prompt unknown_resource upstream_invalid_arguments upstream_refused upstream_request
"""

ORIGINS: Mapping[str, Origin] = {
    reason: origin
    for origin, reasons in (
        (Origin.SLUICE, SLUICE),
        (Origin.UPSTREAM, UPSTREAM),
        (Origin.POLICY, POLICY),
        (Origin.CALLER, CALLER),
    )
    for reason in reasons.split()
}


def origin_of(error: CallError) -> Origin:
    """The origin that belongs to the error's reason; for an unknown reason, the one that belongs to its class."""
    if isinstance(error, UpstreamGarbled):  # some of its reasons also stand for wrong requests
        return Origin.UPSTREAM
    if (origin := ORIGINS.get(error.reason)) is not None:
        return origin
    return Origin.SLUICE if isinstance(error, InternalError | StoreUnavailable) else Origin.CALLER
