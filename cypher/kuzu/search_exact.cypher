MATCH (n:%label%) WHERE n.projectId = $project AND n.embedding IS NOT NULL
RETURN n.uuid, array_cosine_similarity(n.embedding, CAST($vector AS FLOAT[%dimension%])) AS score
ORDER BY score DESC LIMIT $limit
