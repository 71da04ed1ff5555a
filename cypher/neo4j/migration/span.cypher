// The largest id of a node: pages are so many ids each.
MATCH (n)
RETURN coalesce(max(id(n)), -1) AS last
