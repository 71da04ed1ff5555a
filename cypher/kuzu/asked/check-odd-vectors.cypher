// Texts whose vector is not as long as all others, or has no direction. Only where the project has a vector space.
MATCH (n:MarkdownSection:TextSection:Scope:Section:Chunk)
WHERE n.projectId = $project AND n.uuid > $after AND n._state = 'ready' AND n.embedding IS NOT NULL
  AND (size(n.embedding) <> $dimension
    OR NOT (list_sum(list_transform(n.embedding, each -> each * each)) > $least
      AND list_sum(list_transform(n.embedding, each -> each * each)) < $most))
RETURN n.uuid AS uuid, label(n) AS label, n.name AS found
ORDER BY uuid LIMIT $limit
