MATCH (n:%label%)
WHERE n.projectId = $project AND n.embedding IS NOT NULL
CALL (n) {
    REMOVE n.embedding
} IN TRANSACTIONS OF 5000 ROWS
