"""Top-down refinement: one loop, with operators, requirements and scores as its parts."""
