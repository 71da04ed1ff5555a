// As other-vectors, of labels that a migration adopted: there are none, as a new graph is built.
MATCH (m:GraphmillMeta)
WHERE m.key = 'labels' AND m.key = $project AND m.text = $provider AND m.text = $model AND m.text = $unembedded
RETURN m.text AS label, m.text AS uuid, m.text AS state
ORDER BY uuid LIMIT $limit
