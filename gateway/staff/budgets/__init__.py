"""The pages of budgets at /admin/budgets/: what applies to each tool and why, and a preview before each save."""
