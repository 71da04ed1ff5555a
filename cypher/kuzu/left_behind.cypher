// How many nodes of a label no copy of the project has: those of no project and, where the label has no states, those of the project.
MATCH (n:%label%) WHERE n.projectId IS NULL OR (n.projectId = $project AND NOT $hasStates) RETURN count(*)
