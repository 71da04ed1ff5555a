SHOW INDEXES YIELD name, state, owningConstraint
