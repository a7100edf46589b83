"""The pages of staff: budgets with previews, rollouts and experiments, tools, keys, history, the playground."""
