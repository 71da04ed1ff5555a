(type_declaration) @wrapper
((function_declaration name: (identifier) @name body: (_) @body) @scope (#set! kind "function"))
((method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (generic_type type: (type_identifier) @owner)
    (pointer_type (type_identifier) @owner)
    (pointer_type (generic_type type: (type_identifier) @owner))
  ]))
  name: (field_identifier) @name body: (_) @body) @scope (#set! kind "method"))
((type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @scope (#set! kind "struct"))
((type_spec name: (type_identifier) @name type: (interface_type "{" @body)) @scope (#set! kind "interface"))
((type_spec name: (type_identifier) @name type: [
  (type_identifier) (qualified_type) (generic_type) (function_type) (map_type) (slice_type) (array_type) (pointer_type) (channel_type)
]) @scope (#set! kind "type"))
((type_alias name: (type_identifier) @name) @scope (#set! kind "type"))

(comment) @comment

(call_expression function: [(identifier) (selector_expression)] @use)
(composite_literal type: [(type_identifier) (qualified_type)] @type)
(composite_literal type: (generic_type type: [(type_identifier) (qualified_type)] @type))
(field_declaration !name type: [(type_identifier) (qualified_type)] @base)

(import_spec) @import

(method_declaration receiver: (parameter_list (parameter_declaration name: (identifier) @self)))
(parameter_declaration name: (identifier) @local)
(variadic_parameter_declaration name: (identifier) @local)
(short_var_declaration left: (expression_list (identifier) @local))
(range_clause left: (expression_list (identifier) @local))
(var_spec name: (identifier) @local)
