// Articles whose expansion_state is not what their state is shown as: $shown has both words of every pair.
MATCH (a:Article)
WHERE a.projectId = $project AND a.uuid > $after
  AND NOT (coalesce(a._state, '') + ' ' + coalesce(a.expansion_state, '')) IN $shown
RETURN a.uuid AS uuid, 'Article' AS label, coalesce(a._state, '') + ' shown as ' + coalesce(a.expansion_state, 'nothing') AS found
ORDER BY uuid LIMIT $limit
