MATCH (n:%label%) RETURN max(offset(id(n)))
