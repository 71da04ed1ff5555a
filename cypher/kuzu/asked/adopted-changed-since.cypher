// As changed-since, of labels that a migration adopted: there are none, as a new graph is built.
MATCH (m:GraphmillMeta)
WHERE m.key = 'labels' AND m.key = $project AND m.text > $after AND $since IS NULL
RETURN m.text AS uuid, m.text AS label, m.text AS state, 0 AS at, m.text AS run
ORDER BY uuid LIMIT $limit
