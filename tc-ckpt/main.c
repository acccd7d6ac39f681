/* tc-ckpt: lists, shows, converts, consolidates, reshards, compares and verifies checkpoints and other files of tensors. */
#include "tc-ckpt/view.h"

static const struct {
    const char *name;
    tc_status (*run)(tc_cmd *c);
} commands[] = {{"ls", run_ls},           {"show", run_show}, {"convert", run_convert}, {"consolidate", run_consolidate},
                {"reshard", run_reshard}, {"diff", run_diff}, {"verify", run_verify}};

static tc_status run(tc_cmd *c) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i].name, c->command->name)) return commands[i].run(c);
    return NULL;
}

static const tc_opt_id comparing[] = {TC_OPT_all, TC_OPT_rtol, TC_OPT_atol, TC_OPT_NONE};
#define CONVERTING TC_OPT_out, TC_OPT_to, TC_OPT_rename, TC_OPT_map, TC_OPT_select, TC_OPT_cast, TC_OPT_transpose, TC_OPT_shard_size, TC_OPT_no_crc
static const tc_opt_id converting[] = {CONVERTING, TC_OPT_NONE}, consolidating[] = {CONVERTING, TC_OPT_all, TC_OPT_NONE};
static const tc_opt_id resharding[] = {TC_OPT_out, TC_OPT_mesh, TC_OPT_NONE};
static const tc_subcommand subcommands[] = {
    {"ls", "[PATH...]", "list names, types, bytes and where they lie", 0, -1, NULL},
    {"show", "[PATH [NAME...]]", "summarise, or print tensors", 0, -1, NULL},
    {"convert", "[PATH]", "write in another format, renamed, cast, transposed", 0, 1, converting},
    {"consolidate", "[PATH]", "write whole tensors: of a run the model's weights, or --all", 0, 1, consolidating},
    {"reshard", "[PATH]", "write the parts that the ranks of --mesh would hold", 0, 1, resharding},
    {"diff", "A B", "compare two; exit 4 when they differ", 2, 2, comparing},
    {"verify", "[PATH...]", "check every checksum and header; exit 3 at damage", 0, -1, NULL},
    {0}};
static const tc_tool tool = {
    .name = "tc-ckpt",
    .summary = "Lists, shows, converts, consolidates, reshards, compares and verifies checkpoints.",
    .details =
        "PATH (stdin when absent or -) is a file of safetensors, NumPy or torch.save, a .pt2 archive, a HuggingFace folder or index, a checkpoint "
        "of torch.distributed.checkpoint, or a run directory (its latest checkpoint).\n"
        "Example: tc-ckpt consolidate run -o gpt.safetensors",
    .commands = subcommands,
    .run = run,
};

int main(int argc, char **argv) { return tc_cmd_main(argc, argv, &tool); }
