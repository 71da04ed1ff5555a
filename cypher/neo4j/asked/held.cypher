// Which holds that are called so stand, and for how many seconds more; never for none.
WITH datetime.realtime() AS now
MATCH (h:GraphmillHold)
WHERE h.projectId = $project AND h.name STARTS WITH $prefix AND h.token IS NOT NULL
  AND h.until > now AND h.until <= now + duration({seconds: $longest})
RETURN h.name AS name, (h.until.epochMillis - now.epochMillis + 1) / 1000.0 AS seconds
