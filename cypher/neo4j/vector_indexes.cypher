// By what they are over and not by name: an index that somebody else made serves as well.
SHOW VECTOR INDEXES YIELD name, state, entityType, labelsOrTypes, properties, options
WHERE entityType = 'NODE' AND properties = ['embedding']
RETURN name, state, labelsOrTypes[0] AS label, options.indexConfig['vector.dimensions'] AS dimension
