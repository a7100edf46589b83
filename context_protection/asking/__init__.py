"""Ask instead of page: `where` and `aggregate` of a list, parsed, and answered in memory and in a database."""
