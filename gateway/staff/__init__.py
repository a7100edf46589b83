"""Where staff decide: budgets with previews, rollouts and experiments, tools, keys, history, the playground."""
