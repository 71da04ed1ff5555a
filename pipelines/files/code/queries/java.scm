((class_declaration name: (identifier) @name body: (_) @body) @scope (#set! kind "class"))
((interface_declaration name: (identifier) @name body: (_) @body) @scope (#set! kind "interface"))
((enum_declaration name: (identifier) @name body: (_) @body) @scope (#set! kind "enum"))
((record_declaration name: (identifier) @name body: (_) @body) @scope (#set! kind "record"))
((annotation_type_declaration name: (identifier) @name body: (_) @body) @scope (#set! kind "interface"))
((method_declaration name: (identifier) @name body: (_)? @body) @scope (#set! kind "method"))
((constructor_declaration name: (identifier) @name body: (_) @body) @scope (#set! kind "constructor"))
((compact_constructor_declaration name: (identifier) @name body: (_) @body) @scope (#set! kind "constructor"))

[(line_comment) (block_comment)] @comment
(package_declaration [(scoped_identifier) (identifier)] @package)
(import_declaration) @import

(method_invocation !object name: (identifier) @use)
(method_invocation object: [(identifier) (field_access) (this) (super)] @qualifier name: (identifier) @use)
(object_creation_expression type: [(type_identifier) (scoped_type_identifier)] @type)
(object_creation_expression type: (generic_type [(type_identifier) (scoped_type_identifier)] @type))
(method_reference . [(identifier) (type_identifier) (field_access) (this) (super)] @qualifier (identifier) @use .)
[(marker_annotation name: (_) @type) (annotation name: (_) @type)]
(superclass [(type_identifier) (scoped_type_identifier)] @base)
(superclass (generic_type [(type_identifier) (scoped_type_identifier)] @base))
(super_interfaces (type_list [(type_identifier) (scoped_type_identifier)] @base))
(super_interfaces (type_list (generic_type [(type_identifier) (scoped_type_identifier)] @base)))
(extends_interfaces (type_list [(type_identifier) (scoped_type_identifier)] @base))
(extends_interfaces (type_list (generic_type [(type_identifier) (scoped_type_identifier)] @base)))

(formal_parameter name: (identifier) @local)
(spread_parameter (variable_declarator name: (identifier) @local))
(inferred_parameters (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(local_variable_declaration declarator: (variable_declarator name: (identifier) @local))
(enhanced_for_statement name: (identifier) @local)
(catch_formal_parameter name: (identifier) @local)
(resource name: (identifier) @local)
