"""What Sluice calls: other people's APIs, whatever connector they belong to. Each call has a deadline, a size that it
may have, and as few repetitions as its answer allows."""
