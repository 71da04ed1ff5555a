// Articles that were claimed and that no running worker holds: their lease is over, or its owner is gone.
// Filled in: $gone, the owners that are known to be gone, and $longest, the seconds that a lease lasts at most.
MATCH (a:Article)
WHERE a.projectId = $project AND a.expansion_state = 'claimed'
  AND (a._leaseOwner IN $gone
    OR a._leaseOwner IS NULL OR a._leaseToken IS NULL OR a._leaseUntil IS NULL
    OR a._leaseUntil < datetime.realtime() OR a._leaseUntil > datetime.realtime() + duration({seconds: $longest}))
RETURN a.title AS title, a.claimed_at AS claimed_at, a.expansion_depth AS expansion_depth, a._leaseOwner AS owner
ORDER BY claimed_at, title
