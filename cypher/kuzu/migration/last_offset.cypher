MATCH (n:%label%)
RETURN max(offset(id(n))) AS last, count(*) AS count
