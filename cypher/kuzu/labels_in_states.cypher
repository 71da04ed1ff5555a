// The labels that have nodes in some states: one look at the states alone, before whole nodes are read label by label.
MATCH (n) WHERE n.projectId = $project AND list_contains($states, n._state)
RETURN DISTINCT label(n)
