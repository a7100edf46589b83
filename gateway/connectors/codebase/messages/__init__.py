"""dbp_commit_message: the message of a change, with its impact and its files."""
