"""Fields and sections for records of a type that nobody declared."""
