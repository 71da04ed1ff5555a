// The relationship types of graphmill's schema: this engine has no place to declare them, and makes a new one of a typo.
UNWIND [
    'CONSUMES', 'DEFINED_IN', 'HAS_CHUNK', 'HAS_PARENT', 'HAS_PARTITION', 'HAS_SECTION', 'IN_CATEGORY', 'IN_DIRECTORY',
    'LINKS_TO', 'REDIRECTS_TO'
] AS type
RETURN type
