; What JavaScript and TypeScript call alike.
[(export_statement) (lexical_declaration) (variable_declaration) (expression_statement)] @wrapper
((function_declaration name: (_) @name body: (_) @body) @scope (#set! kind "function"))
((generator_function_declaration name: (_) @name body: (_) @body) @scope (#set! kind "function"))
((class_declaration name: (_) @name body: (_) @body) @scope (#set! kind "class"))
((variable_declarator name: (identifier) @name value: (arrow_function body: (_) @body)) @scope (#set! kind "function"))
((variable_declarator name: (identifier) @name value: (function_expression body: (_) @body)) @scope (#set! kind "function"))
((variable_declarator name: (identifier) @name value: (class body: (_) @body)) @scope (#set! kind "class"))
(class_body (method_definition name: (_) @name body: (_) @body) @scope (#set! kind "method"))

; exports.name = function, module.exports.name = function, Type.name = function, Type.prototype.name = function
((assignment_expression
  left: (member_expression object: (identifier) @_object property: (property_identifier) @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @scope
  (#eq? @_object "exports") (#set! kind "function"))
((assignment_expression
  left: (member_expression object: (member_expression) @_object property: (property_identifier) @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @scope
  (#eq? @_object "module.exports") (#set! kind "function"))
((assignment_expression
  left: (member_expression object: (identifier) @owner property: (property_identifier) @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @scope
  (#not-eq? @owner "exports") (#not-eq? @owner "module") (#set! kind "function"))
((assignment_expression
  left: (member_expression
    object: (member_expression object: (identifier) @owner property: (property_identifier) @_prototype)
    property: (property_identifier) @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @scope
  (#eq? @_prototype "prototype") (#set! kind "function"))

((export_statement "default" value: (arrow_function body: (_) @body)) @scope (#set! kind "function") (#set! name "default"))
((export_statement "default" value: (function_expression body: (_) @body)) @scope (#set! kind "function") (#set! name "default"))
((export_statement "default" value: (class body: (_) @body)) @scope (#set! kind "class") (#set! name "default"))
(export_statement "default" declaration: (_ name: (_) @default))
(export_statement "default" value: (identifier) @default)
((assignment_expression left: (member_expression) @_module right: (identifier) @default) (#eq? @_module "module.exports"))
(export_specifier) @export

(comment) @comment

(call_expression function: [(identifier) (member_expression)] @use)
(new_expression constructor: [(identifier) (member_expression)] @use)
(decorator (identifier) @use)

(import_statement) @import
(export_statement source: (_)) @import
((variable_declarator name: (_) value: (call_expression function: (identifier) @_require)) @import (#eq? @_require "require"))

(arrow_function parameter: (identifier) @local)
(variable_declarator name: (identifier) @local)
(object_pattern (shorthand_property_identifier_pattern) @local)
(object_pattern (object_assignment_pattern left: (shorthand_property_identifier_pattern) @local))
(pair_pattern value: (identifier) @local)
(array_pattern (identifier) @local)
(rest_pattern (identifier) @local)
(assignment_pattern left: (identifier) @local)
(catch_clause parameter: (identifier) @local)
(for_in_statement left: (identifier) @local)
