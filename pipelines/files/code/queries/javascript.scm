; Where JavaScript differs from TypeScript.
(class_heritage [(identifier) (member_expression)] @base)
(formal_parameters (identifier) @local)
(class_body (field_definition property: (property_identifier) @name value: (arrow_function body: (_) @body)) @scope (#set! kind "method"))
