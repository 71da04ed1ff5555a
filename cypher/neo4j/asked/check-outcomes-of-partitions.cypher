// Partitions whose outcome is not what their state is shown as: $shown has both words of every pair.
MATCH (n:Partition)
WHERE n.projectId = $project AND n.uuid > $after
  AND NOT (coalesce(n._state, '') + ' ' + coalesce(n.outcome, '')) IN $shown
RETURN n.uuid AS uuid, 'Partition' AS label, coalesce(n._state, '') + ' shown as ' + coalesce(n.outcome, 'nothing') AS found
ORDER BY uuid LIMIT $limit
