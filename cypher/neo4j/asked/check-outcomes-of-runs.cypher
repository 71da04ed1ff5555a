// Runs whose outcome is not what their state is shown as: $shown has both words of every pair.
MATCH (n:IngestionRun)
WHERE n.projectId = $project AND n.uuid > $after
  AND NOT (coalesce(n._state, '') + ' ' + coalesce(n.outcome, '')) IN $shown
RETURN n.uuid AS uuid, 'IngestionRun' AS label, coalesce(n._state, '') + ' shown as ' + coalesce(n.outcome, 'nothing') AS found
ORDER BY uuid LIMIT $limit
