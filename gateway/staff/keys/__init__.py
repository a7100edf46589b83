"""The pages of API keys at /admin/keys/: who has them, what they use, and how they end."""
