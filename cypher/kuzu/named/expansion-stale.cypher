// Articles that somebody claimed and has not been heard of since: the lease has run out, or there is none.
MATCH (a:Article)
WHERE a.projectId = $project AND a.expansion_state = 'claimed'
  AND (a._leaseUntil IS NULL OR a._leaseUntil < CAST(current_timestamp() AS TIMESTAMP))
RETURN a.title AS title, a.claimed_at AS claimed_at, a.expansion_depth AS expansion_depth, a._leaseOwner AS owner
ORDER BY claimed_at, title
