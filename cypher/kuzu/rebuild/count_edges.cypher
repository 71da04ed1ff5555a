MATCH (a:`%source%`)-[r:`%type%`]->(b:`%target%`) RETURN count(*)
