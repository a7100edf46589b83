"""The client for other people's APIs, used by all connectors. Each call has a deadline, a size limit and limited
retries."""
