CALL db.awaitIndex($index, $seconds)
