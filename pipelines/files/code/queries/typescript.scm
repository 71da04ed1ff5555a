; Where TypeScript differs from JavaScript.
(ambient_declaration) @wrapper
((abstract_class_declaration name: (_) @name body: (_) @body) @scope (#set! kind "class"))
((interface_declaration name: (_) @name body: (_) @body) @scope (#set! kind "interface"))
((enum_declaration name: (_) @name body: (_) @body) @scope (#set! kind "enum"))
((type_alias_declaration name: (_) @name value: (_) @body) @scope (#set! kind "type"))
((internal_module name: (_) @name body: (_) @body) @scope (#set! kind "namespace"))
(ambient_declaration (function_signature name: (_) @name) @scope (#set! kind "function"))
(class_body (abstract_method_signature name: (_) @name) @scope (#set! kind "method"))
(class_body (public_field_definition name: (property_identifier) @name value: (arrow_function body: (_) @body)) @scope (#set! kind "method"))

(class_body (decorator) @attribute)

(extends_clause value: [(identifier) (member_expression)] @base)
(implements_clause [(type_identifier) (nested_type_identifier)] @base)
(implements_clause (generic_type name: (_) @base))
(extends_type_clause type: [(type_identifier) (nested_type_identifier)] @base)
(extends_type_clause type: (generic_type name: (_) @base))

(required_parameter pattern: (identifier) @local)
(optional_parameter pattern: (identifier) @local)
