// The length first: a vector of another length would fail the comparison. The engines filter before they compare.
MATCH (n:%label%) WHERE n.projectId = $project AND size(n.embedding) = %dimension%
RETURN n.uuid, array_cosine_similarity(n.embedding, CAST($vector AS FLOAT[%dimension%])) AS score
ORDER BY score DESC LIMIT $limit
