MATCH (n:`%label%`) RETURN count(*)
