/* The table of error identifiers (error_codes.h), printed by --help=TC0101 and in tc-model(7). */
#include "capture/error_codes.h"

#include <stdlib.h>
#include <string.h>

#define VALUES "keep the choice in tensors: torch.where, torch.cond, torch.while_loop"

/* Among rows of one type, those with words come first, since they are more specific. The meaning of an identifier never changes. */
const tc_capture_code tc_capture_codes[] = {
    /* the source */
    {"TC0102", "SyntaxError", "outside the model language", "the source uses a part of Python that the model language leaves out",
     "write it with what is in: a list in place of a generator, a function in place of a module's metaclass, if in place of match, names in place of "
     "*"},
    {"TC0103", "SyntaxError", "too deeply nested", "brackets, operators or blocks are nested beyond the limit that the message names",
     "give parts of the expression names, or make a function of the inner blocks"},
    {"TC0103", "SyntaxError", "too many nested", "", ""},
    {"TC0101", "SyntaxError", NULL, "the source is not valid Python", "correct the line; python3 -m py_compile FILE says the same of most"},
    {"TC0101", "IndentationError", NULL, "", ""},
    {"TC0104", "ModuleNotFoundError", NULL, "the module is neither part of the model language nor a sibling file in the folder of --source",
     "give --source DIR for a sibling; leave out what the model itself does not need"},
    {"TC0104", "UnsupportedError", "a module outside the model language", "", ""},
    {"TC0104", "UnsupportedError", "a name outside the model language", "", ""},
    {"TC0105", "ImportError", NULL, "the module has no such name in the model language, or the import is of a form that is left out",
     "import the file by its name with --source DIR, and single names that tc-model(7) lists"},
    {"TC0106", "NameError", "not part of the model language", "the source asks for what reaches files, the interpreter or foreign code",
     "remove it; weights are loaded by --weights, data by tc-train(1)"},
    {"TC0106", "AttributeError", "not part of the model language", "", ""},
    {"TC0106", "AttributeError", "forbidden", "", ""},
    {"TC0106", "NotImplementedError", "not part of the model language", "", ""},
    {"TC0107", "NameError", NULL, "a name is used that nothing defines", "define it, or correct its spelling"},
    {"TC0108", "UnboundLocalError", NULL, "a local variable is read before it has a value on this path",
     "give it a value on every path before it is read"},
    {"TC0109", "AttributeError", NULL, "an object, module or tensor has no such attribute",
     "correct the name; tc-ops(7) lists the operators that tensors and torch have"},
    /* data and sizes: unknown in a graph */
    {"TC0121", "DataDependentError", "branch", "a branch or assert depends on values of a tensor, which are not known while forward is captured",
     VALUES "; what only checks inputs is left out"},
    {"TC0121", "DataDependentError", "'", "", ""},
    {"TC0122", "DataDependentError", NULL, "Python needs a number or list that only the data decide: a loop count, an index, tolist(), numpy()",
     VALUES},
    {"TC0123", "ValueError", "was declared free", "a size was declared free by a symbol, and the model works for one value of it only",
     "declare the value that the message names, or change the line that forces it; --log=shapes lists what each size became and the conditions that "
     "made it so"},
    {"TC0124", "RuntimeError", "is changed while forward is captured", "forward changes a global of the file, which the program could not do again",
     "pass the value as an argument and return it, or keep it in a buffer"},
    {"TC0125", "TypeError", "outputs are tensors, numbers", "forward returned something that a program cannot return",
     "return tensors, numbers, strings, and tuples, lists, dicts, named tuples or dataclasses of them"},
    {"TC0126", "NotImplementedError", "missing the required", "the class has no forward, so there is nothing to capture",
     "name a class that defines forward"},
    /* limits */
    {"TC0141", "LimitError", "more steps", "evaluation took more steps than the limit: a loop without end, or one that should be in the graph",
     "bound the loop; loops over data are torch.while_loop"},
    {"TC0142", "RecursionError", "recursion", "calls are nested beyond the limit: a recursion without end, or very deep data",
     "end the recursion, or write it as a loop"},
    {"TC0143", "LimitError", "more nodes", "a loop was unrolled into more nodes than a graph may have",
     "hold the loop in the graph: torch.while_loop, or torch.nn.LSTM and its like"},
    {"TC0144", "LimitError", NULL, "numbers, strings, lists or tensors would need more memory than the limit that the message names",
     "make them smaller; tables are faster made by tensor operations than by lists"},
    /* operators */
    {"TC0161", "UnsupportedError", NULL, "an operator, or a form of it, is not supported", "write it with others; tc-ops(7) lists what is there"},
    {"TC0162", "IndexError", "aten.", "", ""},
    {"TC0162", "ValueError", "aten.", "", ""},
    {"TC0162", "NotImplementedError", "aten.", "", ""},
    {"TC0162", "RuntimeError", NULL, "an operator refused its arguments: shapes or types do not fit, or a value is out of range",
     "compare the shapes that the message names with what the line expects"},
    /* exceptions of Python itself */
    {"TC0181", "TypeError", NULL, "a call has the wrong arguments, or an operation the wrong types",
     "correct the call; the message names the function and the argument"},
    {"TC0182", "ValueError", NULL, "a value is of the right type and not acceptable, or an unpacking has the wrong number of names",
     "correct the value that the message names"},
    {"TC0183", "IndexError", NULL, "an index is outside the list, tuple or tensor", "check the length before; negative indices count from the end"},
    {"TC0184", "KeyError", NULL, "a dictionary has no such key", "use get() or check with in"},
    {"TC0185", "ZeroDivisionError", NULL, "a number is divided by zero", "check the divisor before"},
    {"TC0186", "OverflowError", NULL, "a result is too large for its type", "use smaller numbers, or floats"},
    {"TC0190", "Exception", "raised", "the model itself raised this: a raise or assert of its own source",
     "read the condition in the line; constructor arguments or input sizes do not fit it"},
    {"TC0199", NULL, NULL, "an error of another kind", "read the line and the message"},
    {0}};

const char *tc_capture_code_of(const char *type, const char *message, bool raised) {
    for (const tc_capture_code *k = tc_capture_codes; k->id; k++) {
        if (raised) {
            if (!strcmp(k->id, "TC0190")) return k->id;
        } else if ((!k->type || !strcmp(k->type, type)) && (!k->words || strstr(message, k->words))) return k->id;
    }
    return "TC0199";
}

bool tc_capture_explain(tc_buf *out, const char *id) {
    for (const tc_capture_code *k = tc_capture_codes; k->id; k++) {
        if (strcmp(k->id, id)) continue;
        tc_buf_printf(out, "%s\n  cause: %s\n  cure:  %s\n", k->id, k->cause, k->cure);
        return true;
    }
    return false;
}

void tc_capture_codes_mdoc(tc_buf *out) {
    tc_buf_puts(out, ".Bl -tag -width TC0101\n");
    for (int number = 0; number < 1000; number++) { /* by number */
        for (const tc_capture_code *k = tc_capture_codes; k->id; k++) {
            if (strtol(k->id + 2, NULL, 10) != number || !*k->cause) continue;
            tc_buf_printf(out, ".It Li %s\n%s.\n%c%s.\n", k->id, k->cause, k->cure[0] >= 'a' && k->cure[0] <= 'z' ? k->cure[0] - 32 : k->cure[0],
                          k->cure + 1);
            break;
        }
    }
    tc_buf_puts(out, ".El\n");
}
