/* Import: native modules, embedded sources (torch, parts of the standard library), and, with --source DIR, the user's other files. */
#include "capture/ast.h"
#include "base/embedded.h"
#include "base/file.h"
#include "base/text.h"
#include "capture/torch.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

module *tc_module(C *c, const char *name) {
    str *n = tc_intern(c, name, strlen(name));
    module *m = (module *)tc_dict_gets(c, c->modules, n);
    if (m) return m;
    m = tc_new(c, K_MODULE, sizeof *m);
    m->name = n;
    m->d = tc_dict(c);
    m->d->module = NULL;
    m->embedded = true;
    tc_dict_set(c, m->d, (V)c->n___name__, (V)n);
    tc_dict_set(c, c->modules, (V)n, (V)m);
    return m;
}

static module *sibling(C *c, const char *name);

/* The library has a part of timm; a complete timm in --source takes precedence. */
static bool is_replaced(C *c, const char *name) {
    if (strncmp(name, "timm", 4) || (name[4] && name[4] != '.')) return false;
    const module *m = (module *)tc_dict_gets(c, c->modules, tc_intern(c, "timm", 4));
    if (!m) m = sibling(c, "timm");
    return m && !m->embedded;
}

/* The k-th list of embedded sources, or NULL. */
static const tc_embedded *sources(const C *c, int k) { return k == 0 ? tc_embedded_sources : k == 1 ? c->more_sources : NULL; }

static const tc_embedded *embedded(C *c, const char *name) {
    char path[256];
    if (is_replaced(c, name)) return NULL;
    const char *rel = NULL;
    if (!strncmp(name, "torch.", 6)) rel = name + 6;
    size_t n = 0;
    const char *prefix = rel ? "" : !strncmp(name, "onnx_", 5) ? "lib/onnx/" : "lib/capture/std/";
    n = strlen(prefix);
    memcpy(path, prefix, n);
    for (const char *p = rel ? rel : name; *p && n < 200; p++) path[n++] = *p == '.' ? '/' : *p;
    for (int i = 0; i < 2; i++) {
        snprintf(path + n, sizeof path - n, "%s", i ? "/__init__.py" : ".py");
        for (int k = 0; sources(c, k); k++)
            for (const tc_embedded *e = sources(c, k); e->name; e++)
                if (!strcmp(e->name, path)) return e;
    }
    return NULL;
}

/* torch.utils: a folder of embedded sources without one of its own name. */
static bool is_package(const char *name) {
    if (strncmp(name, "torch.", 6)) return false;
    size_t n = strlen(name + 6);
    for (const tc_embedded *e = tc_embedded_sources; e->name; e++)
        if (!strncmp(e->name, name + 6, n) && e->name[n] == '/') return true;
    return false;
}

/* Other names of the same PyTorch modules. */
static const char *canonical(C *c, const char *name) {
    static const char *const same[][2] = {{"torch.nn.parameter", "torch.nn"},
                                          {"torch.types", "typing"},
                                          {"collections.abc", "typing"},
                                          {"typing_extensions", "typing"},
                                          {"torch.autograd.grad_mode", "torch"},
                                          {"torch.nn.modules.utils", "torch.nn.tuples"},
                                          {"torch.nn.modules.batchnorm", "torch.nn.norm"},
                                          {"torch.nn.modules.instancenorm", "torch.nn.norm"},
                                          {"torch.nn.modules.normalization", "torch.nn.norm"},
                                          {"torch.nn.modules.conv", "torch.nn.conv"},
                                          {"torch.nn.modules.loss", "torch.nn.loss"},
                                          {"torch.nn.common_types", "typing"},
                                          {"numpy.typing", "typing"},
                                          {"torch._tensor", "torch"},
                                          {"torch.distributed.nn.functional", "torch.distributed.nn"},
                                          {"timm.models.layers", "timm.layers"},
                                          {"timm.models.registry", "timm.models"},
                                          {"tqdm.auto", "tqdm"},
                                          {"tqdm.notebook", "tqdm"},
                                          {"beartype.typing", "typing"}};
    /* Packages that PyTorch and timm divide into files, and the library does not: all modules of a folder are one module. */
    static const struct {
        const char *folder, *files, *module;
    } parts[] = {
        {"torch._higher_order_ops", " associative_scan cond map scan while_loop wrap ", "torch._higher_order_ops"},
        {"torch.autograd", " function variable ", "torch.autograd"},
        {"torch.distributions",
         " bernoulli beta binomial categorical cauchy chi2 constraints continuous_bernoulli dirichlet distribution exp_family exponential "
         "fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal independent inverse_gamma kl kumaraswamy laplace "
         "lkj_cholesky log_normal logistic_normal lowrank_multivariate_normal mixture_same_family multinomial multivariate_normal "
         "negative_binomial normal one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical studentT transformed_distribution "
         "transforms uniform utils von_mises weibull wishart ",
         "torch.distributions"},
        {"torch.nn.modules",
         " activation adaptive channelshuffle container distance dropout flatten fold lazy linear module padding pixelshuffle pooling rnn sparse "
         "transformer upsampling ",
         "torch.nn.modules"},
        {"torch.nn.utils", " clip_grad convert_parameters spectral_norm ", "torch.nn.utils"},
        {"torch.optim", " adadelta adagrad adamax adamw asgd nadam radam rmsprop rprop sparse_adam ", "torch.optim"},
        {"torch.utils.data", " dataloader dataset distributed sampler ", "torch.utils.data"},
        {"timm.layers", " attention drop helpers layer_scale mlp norm patch_embed weight_init ", "timm.layers"},
        {"timm.models.layers", " drop helpers mlp norm patch_embed weight_init ", "timm.layers"}};
    if (is_replaced(c, name)) return name;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!strcmp(name, same[i][0])) return same[i][1];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t n = strlen(parts[i].folder);
        if (!strncmp(name, parts[i].folder, n) && name[n] == '.' && tc_word_in(parts[i].files, name + n + 1)) return parts[i].module;
    }
    return name;
}

/* ---- modules that the language lacks ---- */
static bool is_pythons(const char *name) {
    static const char *const names[] = {"_thread",      "argparse",     "array",
                                        "ast",          "asyncio",      "atexit",
                                        "base64",       "bdb",          "binascii",
                                        "builtins",     "bz2",          "cProfile",
                                        "calendar",     "cmath",        "cmd",
                                        "code",         "codecs",       "codeop",
                                        "colorsys",     "compileall",   "concurrent",
                                        "configparser", "contextvars",  "copyreg",
                                        "csv",          "ctypes",       "curses",
                                        "datetime",     "dbm",          "decimal",
                                        "difflib",      "dis",          "distutils",
                                        "doctest",      "email",        "encodings",
                                        "errno",        "faulthandler", "fcntl",
                                        "filecmp",      "fileinput",    "fnmatch",
                                        "ftplib",       "getopt",       "getpass",
                                        "gettext",      "glob",         "graphlib",
                                        "grp",          "gzip",         "hashlib",
                                        "hmac",         "html",         "http",
                                        "imaplib",      "imghdr",       "importlib",
                                        "io",           "ipaddress",    "keyword",
                                        "linecache",    "locale",       "lzma",
                                        "mailbox",      "marshal",      "mimetypes",
                                        "mmap",         "modulefinder", "multiprocessing",
                                        "netrc",        "opcode",       "optparse",
                                        "os",           "pathlib",      "pdb",
                                        "pickle",       "pickletools",  "pkgutil",
                                        "platform",     "plistlib",     "poplib",
                                        "posix",        "posixpath",    "pprint",
                                        "profile",      "pstats",       "pty",
                                        "pwd",          "py_compile",   "pyclbr",
                                        "pydoc",        "pydoc_data",   "queue",
                                        "quopri",       "readline",     "reprlib",
                                        "resource",     "rlcompleter",  "runpy",
                                        "sched",        "secrets",      "select",
                                        "selectors",    "shelve",       "shlex",
                                        "shutil",       "signal",       "site",
                                        "smtplib",      "socket",       "socketserver",
                                        "sqlite3",      "ssl",          "stat",
                                        "statistics",   "stringprep",   "struct",
                                        "subprocess",   "symtable",     "sys",
                                        "sysconfig",    "syslog",       "tabnanny",
                                        "tarfile",      "tempfile",     "termios",
                                        "time",         "timeit",       "tkinter",
                                        "token",        "tokenize",     "tomllib",
                                        "trace",        "traceback",    "tracemalloc",
                                        "tty",          "turtle",       "unicodedata",
                                        "unittest",     "urllib",       "uuid",
                                        "venv",         "wave",         "webbrowser",
                                        "wsgiref",      "xml",          "xmlrpc",
                                        "zipapp",       "zipfile",      "zipimport",
                                        "zlib",         "zoneinfo"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

/* Third-party packages that files import for work other than the model (data, plots, progress bars, logs,
 * training, pretrained weights), or for a part of it that the class to be captured does without (fast kernels, graphs). */
static bool is_tool(const char *name) {
    return tc_word_in(
        " GPUtil IPython PIL absl accelerate addict albumentations altair apex av bitsandbytes boto3 bs4 causal_conv1d clearml click "
        "clip cloudpickle colorama colorlog comet_ml coreforecast cv2 d4rl dask datasets decord deepspeed detectron2 dgl diffusers dill dotenv e3nn "
        "easydict editdistance einx ema_pytorch evaluate fairscale fairseq fastai fastcore filelock fire flash_attn flax fsspec ftfy fvcore gdown "
        "gensim gin git google gradio gym gymnasium h5py horovod httpx httpx2 hydra hyperpyyaml ignite imageio imgaug iopath ipdb jax jieba joblib "
        "jsonargparse keras kornia kornia_rs labml labml_helpers levenshtein librosa lightning lightning_fabric lmdb loguru lpips lxml mamba_ssm "
        "matplotlib ml_collections mlflow mmcls mmcv mmdet mmengine mmpretrain mmseg mne mne_bids monai mpi4py msgpack mujoco_py multimethod "
        "munch natsort neptune networkx nibabel nltk numba nvidia omegaconf onnx onnxruntime onnxsim open3d openai opt_einsum optuna "
        "pandas peft pesq pickle5 plotly plyfile polars pooch prefetch_generator pretrainedmodels prettytable progress psutil ptflops pudb "
        "pyarrow pycocotools pydantic pyhocon pynvml pystoi pytest pytorch_lightning pytorch_pretrained_bert pywt ray rdkit regex "
        "requests resampy rich sacrebleu sacred safetensors scipy seaborn sentence_transformers sentencepiece setproctitle setuptools "
        "simplejson six skimage sklearn skorch soundfile spacy stable_baselines3 statsmodels submitit sympy tabulate tap tensorboard "
        "tensorboardX tensorboard_logger tensorflow tensorrt termcolor thop tiktoken tokenizers toml torch2trt torch_cluster "
        "torch_geometric torch_scatter torch_sparse torchaudio torchdata torchdiffeq torchinfo torchmetrics torchnet torchsummary "
        "torchsummaryX torchtext torchvision torchviz tornado transformer_engine transformers trimesh tyro ujson ultralytics "
        "unidecode utilsforecast visdom wandb webdataset wfdb xformers xgboost xlrd xxhash yacs yaml zarr ",
        name);
}

/* Parts of PyTorch and timm that models do not need and the library lacks: modules in PARENT, and names in PARENT; "*": all others. */
static const struct {
    const char *parent, *modules, *names;
} others[] = {
    {"torch",
     " _custom_ops _dynamo _export _functorch _inductor _jit_internal _prims _refs _subclasses _utils accelerator ao classes contrib export futures "
     "monitor mps mtia multiprocessing nested onnx overrides package profiler quantization quasirandom serialization storage "
     "testing torch_version utils xpu ",
     " TensorType "},
    {"torch.amp", " grad_scaler ", " GradScaler "},
    {"torch.autograd", " anomaly_mode forward_ad functional gradcheck graph profiler ", ""},
    {"torch.cuda.amp", "", " GradScaler "},
    {"torch.cpu.amp", "", " GradScaler "},
    {"torch.cuda", " comm graphs memory nccl nvtx profiler random sparse streams tunable ",
     " CUDAGraph Event Stream current_stream default_stream get_arch_list get_device_capability get_device_properties get_rng_state graph "
     "init ipc_collect max_memory_allocated max_memory_reserved mem_get_info memory_allocated memory_reserved memory_summary "
     "reset_max_memory_allocated reset_peak_memory_stats set_per_process_memory_fraction set_rng_state stream utilization "},
    {"torch.distributed",
     " _composable _shard _tensor algorithms autograd checkpoint constants device_mesh distributed_c10d elastic fsdp "
     "launch launcher optim pipelining remote_device rendezvous rpc run tensor utils ",
     " Backend DeviceMesh FileStore GroupMember HashStore P2POp PrefixStore ProcessGroup Store TCPStore Work all_gather_coalesced "
     "all_gather_object all_reduce_coalesced all_to_all all_to_all_single barrier batch_isend_irecv broadcast_object_list "
     "destroy_process_group gather gather_object get_backend get_global_rank get_group_rank get_process_group_ranks init_device_mesh "
     "init_process_group irecv isend monitored_barrier new_group new_subgroups recv recv_object_list reduce reduce_op reduce_scatter "
     "scatter scatter_object_list send send_object_list "},
    {"torch.fx", " experimental graph graph_module interpreter node passes proxy subgraph_rewriter traceback ",
     " CodeGen Graph GraphModule Interpreter Node Proxy Tracer Transformer has_side_effect replace_pattern symbolic_trace "},
    {"torch.hub", "", " HASH_REGEX READ_DATA_CHUNK _get_torch_home urlparse "},
    {"torch._C", "",
     " DispatchKey DispatchKeySet _ExcludeDispatchKeyGuard _jit_override_can_fuse_on_cpu _jit_override_can_fuse_on_gpu _jit_set_autocast_mode "
     "_jit_set_bailout_depth _jit_set_nvfuser_enabled "
     "_jit_set_profiling_executor _jit_set_profiling_mode _jit_set_texpr_fuser_enabled "},
    {"torch.jit", " annotations frontend mobile quantized ",
     " enable_onednn_fusion fork freeze fuser load optimize_for_inference save set_fusion_strategy trace trace_module wait "},
    {"torch.sparse", "",
     " SparseSemiStructuredTensor addmm as_sparse_gradcheck check_sparse_tensor_invariants log_softmax mm sampled_addmm softmax spdiags spsolve sum "
     "to_sparse_semi_structured "},
    {"torch.masked", " maskedtensor ", " MaskedTensor as_masked_tensor is_masked_tensor masked_tensor "},
    {"torch.nn", " backends grad intrinsic parallel qat quantizable quantized ", " DataParallel UninitializedBuffer UninitializedParameter "},
    {"torch.nn.attention", " bias experimental varlen ", ""},
    {"torch.nn.modules", "", " LazyModuleMixin "},
    {"torch.nn.utils", " memory_format stateless ", ""},
    {"torch.utils",
     " _device _mode_utils _python_dispatch _triton backcompat benchmark bottleneck bundled_inputs collect_env cpp_extension deterministic dlpack "
     "flop_counter mobile_optimizer module_tracker serialization tensorboard throughput_benchmark viz weak ",
     ""},
    {"beartype", " claw door peps roar vale ", ""},
    {"huggingface_hub", " constants errors file_download hf_api hub_mixin inference repocard utils ", "*"},
    {"inspect", "",
     " getattr_static getfile getframeinfo getmodule getsource getsourcefile getsourcelines isasyncgenfunction isawaitable "
     "iscoroutine iscoroutinefunction isdatadescriptor isgetsetdescriptor isgenerator isgeneratorfunction ismethoddescriptor stack unwrap "},
    {"contextlib", "", " AsyncExitStack aclosing asynccontextmanager "},
    {"json", " scanner tool ", ""},
    {"string", "", " Formatter "},
    {"pathlib", "", " PureWindowsPath WindowsPath "},
    {"importlib", " abc resources ", " invalidate_caches reload "},
    {"importlib.metadata", "", " distribution distributions entry_points files metadata requires "},
    {"importlib.util", "", " LazyLoader module_from_spec spec_from_file_location spec_from_loader "},
    {"threading", "", " Barrier BoundedSemaphore Condition Event Semaphore Thread Timer active_count current_thread get_ident main_thread "},
    {"logging", " config handlers ", " FileHandler Formatter LogRecord LoggerAdapter addLevelName captureWarnings setLoggerClass "},
    {"urllib", " error request response robotparser ", ""},
    {"urllib.parse", "", " parse_qs parse_qsl unquote unquote_plus urlencode urljoin "},
    {"numpy", " ctypeslib lib ma polynomial testing ", ""},
    {"timm", " loss optim scheduler utils ", " create_model "},
    {"timm.data", " auto_augment constants dataset loader mixup transforms ", " Mixup create_loader create_transform "},
    {"timm.models", " features fx_features helpers hub ", " create_model "},
    {"timm.models.vision_transformer", "", " VisionTransformer _cfg checkpoint_filter_fn default_cfgs "},
    {"torch.utils.model_zoo", "", " tqdm "},
    {"torch.utils.data", " _utils ",
     " BatchSampler ChainDataset ConcatDataset DataLoader DistributedSampler RandomSampler SequentialSampler StackDataset Subset "
     "SubsetRandomSampler TensorDataset WeightedRandomSampler default_collate default_convert get_worker_info random_split "}};

static bool lacks(const module *parent, const char *name, bool is_module) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(others[i].parent, parent->name->s))
            return is_module ? tc_word_in(others[i].modules, name) : *others[i].names == '*' || tc_word_in(others[i].names, name);
    return false;
}

static V outside(C *c, const char *what, const char *name, const file *f, const ast *at) {
    const char *class = !strcmp(what, "a builtin") ? "Result" : "Outside";
    V make = tc_module_attr(c, tc_import(c, "_outside", true), tc_intern(c, class, strlen(class)));
    V a[5] = {tc_strz(c, name), tc_strz(c, what), tc_strz(c, f->name), tc_int(c, at->line), tc_int(c, at->col)};
    return tc_call(c, make, &(args){.n = 5, .a = a});
}

V tc_lacking(C *c, const char *name, const char *what) {
    const frame *f = tc_user_frame(c);
    if (!f) tc_raise(c, "NameError", "'%s' is not part of the model language", name);
    return outside(c, what, name, f->sc->file, f->at);
}

V tc_module_attr(C *c, module *m, str *name) {
    V v = tc_dict_gets(c, m->d, name);
    if (v) return v;
    if (name == c->n___dict__) {
        V whole = m->embedded ? tc_dict_gets(c, m->d, tc_intern(c, "_whole", 6)) : NULL; /* binds what is otherwise found by its __getattr__ */
        if (whole) tc_call0(c, whole);
        return (V)m->d;
    }
    V f = tc_dict_gets(c, m->d, c->n___getattr__);
    if (f) {
        trap t;
        V volatile r = NULL;
        if (TC_TRAP(c, t)) {
            r = tc_call1(c, f, (V)name);
            tc_untrap(c, &t);
        } else if (!tc_exc_is(c, c->exc, "AttributeError")) tc_raise_again(c, c->exc);
        if (r) return r;
    }
    if (m->missing && (v = m->missing(c, m, name))) return v;
    if (m->embedded && name->len < 100 && strncmp(name->s, "__", 2)) {
        char full[256];
        int n = snprintf(full, sizeof full, "%s.%s", m->name->s, name->s);
        if (n > 0 && (size_t)n < sizeof full) {
            if (tc_dict_gets(c, c->modules, tc_intern(c, full, strlen(full))) || embedded(c, full) || is_package(full) ||
                strcmp(canonical(c, full), full))
                return (V)tc_import(c, full, false);
        }
    }
    bool is_module = tc_word_in(" torch torch.amp torch.autograd torch.nn ", m->name->s) &&
                     lacks(m, name->s, true); /* PyTorch imports these submodules with torch */
    const frame *user = m->embedded && (is_module || lacks(m, name->s, false)) ? tc_user_frame(c) : NULL;
    return user ? outside(c, is_module ? "a module" : "a name", tc_arena_printf(&c->arena, "%s.%s", m->name->s, name->s), user->sc->file, user->at)
                : NULL;
}

V tc_module_stand_in(C *c, const module *m, str *name) {
    trap t;
    if (!m->stand_in) return NULL;
    if (TC_TRAP(c, t)) {
        V v = tc_getattr(c, m->stand_in, name);
        tc_untrap(c, &t);
        return v;
    }
    if (!tc_exc_is(c, c->exc, "AttributeError")) tc_raise_again(c, c->exc);
    return NULL;
}

/* ---- import ---- */
static bool is_of(C *c, V v, const char *class) {                                   /* of _outside.py */
    module *m = (module *)tc_dict_gets(c, c->modules, tc_intern(c, "_outside", 8)); /* NULL: no missing module was imported */
    return m && (V)tc_type_of(c, v) == tc_dict_gets(c, m->d, tc_intern(c, class, strlen(class)));
}

void tc_module_replace(C *c, str *name, V v) {
    if (tc_kind_of(v) == K_MODULE) tc_dict_set(c, c->modules, (V)name, v);
    if (tc_kind_of(v) != K_OBJECT || is_of(c, v, "Result") || tc_is_outside(c, v)) return; /* what the language does not know stands for no module */
    module *m = (module *)tc_dict_gets(c, c->modules, name);
    if (!m) {
        m = tc_module(c, name->s);
        m->embedded = false;
    }
    if (!m->embedded) m->stand_in = v;
}

bool tc_is_outside(C *c, V v) { return is_of(c, v, "Outside"); }

void tc_known(C *c, V v) {
    if (tc_kind_of(v) == K_OBJECT && is_of(c, v, "Result")) tc_call_method(c, v, tc_intern(c, "_use", 4), 0, NULL);
}

/* Whether the import stands in a try statement of its own module. One around the import of that module does not ask for parts of PyTorch, which has
 * them. */
static bool is_probed(C *c) {
    const frame *f = tc_user_frame(c);
    return c->trying > (f && f->module ? f->module->trying : 0);
}

/* Whether one package asks for another that its models may do without: a tool in --source that the language cannot read is a tool that it lacks. */
static bool may_lack(C *c, const char *name) {
    const frame *f = tc_user_frame(c);
    const char *from = f && f->module && f->module->package ? f->module->package->s : "";
    const size_t n = strcspn(name, ".");
    const bool same = !strncmp(from, name, n) && (!from[n] || from[n] == '.');
    return *from && !same && !c->trying && is_tool(tc_arena_strndup(&c->arena, name, n));
}

/* What was raised when NAME was imported is raised again, or said if NAME may be lacked. */
static void lack(C *c, const char *name) {
    if (((exc *)c->exc)->limit || !may_lack(c, name)) tc_raise_again(c, c->exc);
    tc_warn(c, tc_arena_printf(&c->arena, "%s; packages are imported without what needs this", tc_exc_line(c, c->exc)));
}

static V import_or_lack(C *c, const char *name, const file *f, const ast *at) {
    trap t;
    if (TC_TRAP(c, t)) {
        module *m = tc_import(c, name, false);
        tc_untrap(c, &t);
        return (V)m;
    }
    lack(c, name);
    return outside(c, "a module", name, f, at);
}

/* A submodule or object of a module that exists, or the placeholder of a PyTorch module that does not. */
static V part_of(C *c, module *parent, const char *name, const char *part, const file *f, const ast *at) {
    str *n = tc_intern(c, part, strlen(part));
    if (!lacks(parent, part, true)) return tc_module_attr(c, parent, n);
    V v = tc_dict_gets(c, parent->d, n);
    if (v || is_probed(c)) return v;
    v = outside(c, "a module", name, f, at);
    tc_dict_setc(c, parent->d, part, v);
    return v;
}

V tc_import_any(C *c, const char *name, const file *f, const ast *at) {
    V m = import_or_lack(c, name, f, at);
    if (m) return m;
    const char *dot = strrchr(name, '.');
    if (dot) {
        V parent = tc_import_any(c, tc_arena_strndup(&c->arena, name, (size_t)(dot - name)), f, at);
        if (tc_kind_of(parent) != K_MODULE) return tc_getattr(c, parent, tc_intern(c, dot + 1, strlen(dot + 1)));
        V v = part_of(c, (module *)parent, name, dot + 1, f, at);
        if (v) return v;
    } else if (is_pythons(name) || (is_tool(name) && !c->trying)) return outside(c, "a module", name, f, at);
    return (V)tc_import(c, name, true);
}

static V find_part(C *c, module *m, str *part, const char *full, const file *f, const ast *at) {
    V v = part_of(c, m, full, part->s, f, at);
    if (!v) v = (V)tc_import(c, full, false);
    if (!v) v = tc_module_stand_in(c, m, part);
    if (!v) tc_import_lost(c, m, part);
    return v;
}

V tc_import_part(C *c, V from, str *part, const file *f, const ast *at) {
    if (tc_kind_of(from) != K_MODULE) return tc_getattr(c, from, part);
    module *m = (module *)from;
    const char *full = tc_arena_printf(&c->arena, "%s.%s", m->name->s, part->s);
    trap t;
    V volatile v = NULL;
    if (TC_TRAP(c, t)) {
        v = find_part(c, m, part, full, f, at);
        tc_untrap(c, &t);
    } else {
        lack(c, full);
        v = outside(c, "a name", full, f, at);
    }
    if (!v) tc_raise(c, "ImportError", "cannot import name '%s' from '%s'", part->s, m->name->s);
    return v;
}

void tc_import_lost(C *c, const module *m, str *name) {
    V e = m && m->lost ? tc_dict_gets(c, m->lost, name) : NULL;
    if (!e && m && m->lost) e = tc_dict_gets(c, m->lost, tc_intern(c, "*", 1));
    if (e) tc_raise_again(c, e);
}

/* ---- files of --source ---- */
static str *package_part(C *c, const char *name) { /* "a.b" of "a.b.c", "" of "c" */
    const char *dot = strrchr(name, '.');
    return tc_intern(c, name, dot ? (size_t)(dot - name) : 0);
}

/* The real path of a folder, or the given one if it does not exist. */
static const char *real(C *c, const char *dir) {
    char *r = realpath(dir, NULL);
    const char *name = r ? tc_arena_strdup(&c->arena, r) : dir;
    free(r);
    return name;
}

str *tc_package_of(C *c, const char *path) {
    const char *base = strrchr(path, '/');
    const char *folder = real(c, base ? tc_arena_strndup(&c->arena, path, (size_t)(base - path) + 1) : ".");
    const char *whole = tc_arena_printf(&c->arena, "%s/%s", strcmp(folder, "/") ? folder : "", base ? base + 1 : path);
    for (int i = 0; i < c->nsource_dirs; i++) {
        const char *dir = real(c, c->source_dirs[i]);
        size_t n = strlen(dir);
        while (n && dir[n - 1] == '/') n--;
        if (strncmp(whole, dir, n) || whole[n] != '/') continue;
        char *name = tc_arena_strdup(&c->arena, whole + n + 1), *slash = strrchr(name, '/');
        if (slash) *slash = 0;
        else *name = 0;
        for (char *p = name; *p; p++)
            if (*p == '/') *p = '.';
        return tc_intern(c, name, strlen(name));
    }
    return tc_intern(c, "", 0);
}

const char *tc_import_name(C *c, const module *from, const char *name) {
    if (*name != '.') return name;
    const char *package = from && from->package ? from->package->s : "";
    if (!c->nsource_dirs && !(from && from->embedded)) tc_raise(c, "ImportError", "import of '%s' from a sibling file needs --source DIR", name);
    for (name++; *name == '.'; name++) {
        if (!strchr(package, '.')) tc_raise(c, "ImportError", "attempted relative import beyond top-level package");
        package = package_part(c, package)->s;
    }
    return *package && *name ? tc_arena_printf(&c->arena, "%s.%s", package, name) : *package ? package : name;
}

/* Symbolic links must stay inside dir. */
static bool is_inside(const char *dir, const char *path) {
    char *folder = realpath(dir, NULL), *target = realpath(path, NULL);
    size_t n = folder ? strlen(folder) : 0;
    while (n && folder[n - 1] == '/') n--;
    bool inside = folder && target && !strncmp(target, folder, n) && target[n] == '/';
    free(folder);
    free(target);
    return inside;
}

/* DIR/a/b of a.b */
static char *path_in(C *c, const char *dir, const char *name) {
    char *base = tc_arena_printf(&c->arena, "%s/%s", dir, name);
    for (char *p = base + strlen(dir); *p; p++)
        if (*p == '.') *p = '/';
    return base;
}

static bool is_folder_in(const char *dir, const char *path) {
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode) && is_inside(dir, path);
}

/* A file that fails is no module. What the language lacks it lacks the next time too: the error is kept and not met again. */
static module *run_sibling(C *c, module *m, file *f) {
    trap t;
    if (TC_TRAP_PASSING(c, t)) {
        tc_module_run(c, m, f);
        tc_untrap(c, &t);
        return m;
    }
    const exc *e = (exc *)c->exc;
    tc_dict_del(c, c->modules, (V)m->name);
    if (!c->failed) c->failed = tc_dict(c);
    if (!e->limit && !e->raised && !c->trying) tc_dict_set(c, c->failed, (V)m->name, c->exc);
    tc_raise_again(c, c->exc);
}

/* DIR/a/b/__init__.py, DIR/a/b.py, or the folder DIR/a/b without a source file. */
static module *sibling_in(C *c, const char *dir, const char *name) {
    char *base = path_in(c, dir, name);
    for (int package = 1; package >= 0; package--) {
        char *path = tc_arena_printf(&c->arena, "%s%s", base, package ? "/__init__.py" : ".py");
        tc_buf b = {0};
        if (access(path, F_OK)) continue;
        if (!is_inside(dir, path)) tc_raise(c, "ImportError", "%s leads out of the folder of --source", path);
        tc_status s = tc_file_read(path, (size_t)16 << 20, &b);
        if (s) {
            tc_status_free(s);
            continue;
        }
        char *text = tc_arena_strndup(&c->arena, b.data, b.len);
        size_t len = b.len;
        tc_buf_free(&b);
        module *m = tc_module(c, name);
        m->embedded = false;
        m->package = package ? m->name : package_part(c, name);
        tc_dict_set(c, m->d, (V)c->n___file__, tc_strz(c, path));
        tc_dict_setc(c, m->d, "__spec__", c->none);
        V folder = tc_strz(c, base);
        if (package) tc_dict_setc(c, m->d, "__path__", (V)tc_to_list(c, tc_tuple(c, 1, &folder)));
        return run_sibling(c, m, tc_file_add(c, path, text, len));
    }
    if (!is_folder_in(dir, base)) return NULL;
    module *m = tc_module(c, name);
    m->embedded = false;
    return m;
}

/* Whether NAME is a part of PyTorch, which is the language's own: an installed one in --source is not read. */
static bool is_torch(const char *name) { return !strncmp(name, "torch", 5) && (!name[5] || name[5] == '.'); }

static module *sibling(C *c, const char *name) {
    module *m = NULL;
    if (is_torch(name)) return NULL;
    V failed = c->failed ? tc_dict_gets(c, c->failed, tc_intern(c, name, strlen(name))) : NULL;
    if (failed) tc_raise_again(c, failed);
    for (int i = 0; i < c->nsource_dirs && !m && !strstr(name, ".."); i++) m = sibling_in(c, c->source_dirs[i], name);
    return m;
}

static module *load(C *c, const char *name) {
    str *n = tc_intern(c, name, strlen(name));
    module *m = (module *)tc_dict_gets(c, c->modules, n);
    if (m) return m;
    const tc_embedded *e = embedded(c, name);
    if (!e && is_package(name)) return tc_module(c, name);
    if (!e) return sibling(c, name);
    m = tc_module(c, name);
    if (!strcmp(name, "torch.nn.functional")) tc_torch_functional(c, m);
    V path = tc_strf(c, "<%s>", e->name);
    tc_buf b = {0};
    tc_embedded_append(&b, e);
    char *text = tc_arena_strndup(&c->arena, b.data, b.len);
    tc_buf_free(&b);
    file *f = tc_file_add(c, tc_as_str(path)->s, text, e->len);
    f->embedded = true;
    return tc_module_run(c, m, f);
}

bool tc_import_finds(C *c, const char *name) {
    name = canonical(c, name);
    const char *dot = strrchr(name, '.');
    if (dot) tc_import(c, tc_intern(c, name, (size_t)(dot - name))->s, true);
    if (tc_dict_gets(c, c->modules, tc_intern(c, name, strlen(name))) || embedded(c, name) || is_package(name) || is_pythons(name)) return true;
    for (int i = 0; i < c->nsource_dirs && !strstr(name, "..") && !is_torch(name); i++) {
        const char *base = path_in(c, c->source_dirs[i], name);
        if (!access(tc_arena_printf(&c->arena, "%s.py", base), F_OK) || is_folder_in(c->source_dirs[i], base)) return true;
    }
    return false;
}

/* Of a package's name, in which - _ . and upper and lower case are the same. */
static bool is_name(const char *a, const char *b, size_t n) {
    bool same = strlen(b) == n;
    for (size_t i = 0; i < n && same; i++)
        same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[i]) || (strchr("-_.", a[i]) && strchr("-_.", b[i]));
    return same;
}

const char *tc_import_version(C *c, const char *name) {
    const char *found = NULL;
    for (int i = 0; i < c->nsource_dirs && !found; i++) {
        DIR *dir = opendir(c->source_dirs[i]);
        for (const struct dirent *e; dir && !found && (e = readdir(dir));) {
            const char *dash = strchr(e->d_name, '-'), *end = strstr(e->d_name, ".dist-info");
            if (dash && end > dash && !end[10] && is_name(e->d_name, name, (size_t)(dash - e->d_name)))
                found = tc_arena_strndup(&c->arena, dash + 1, (size_t)(end - dash) - 1);
        }
        if (dir) closedir(dir);
    }
    return found;
}

module *tc_import(C *c, const char *name, bool required) {
    tc_stack_check(c);
    name = canonical(c, name);
    const char *dot = strrchr(name, '.');
    module *parent = NULL;
    if (dot) {
        str *up = tc_intern(c, name, (size_t)(dot - name));
        parent = tc_import(c, up->s, false);
    }
    module *m = parent || !dot ? load(c, name) : NULL;
    if (!m && parent) {
        V v = tc_dict_gets(c, parent->d, tc_intern(c, dot + 1, strlen(dot + 1)));
        if (v && tc_kind_of(v) == K_MODULE) m = (module *)v;
    }
    if (m && parent && m != parent && !tc_dict_gets(c, parent->d, tc_intern(c, dot + 1, strlen(dot + 1)))) tc_dict_setc(c, parent->d, dot + 1, (V)m);
    if (!m && required) {
        if (c->nsource_dirs)
            tc_raise(c, "ModuleNotFoundError", "No module named '%s'" TC_DETAIL " in the model language or in %s%s", name, c->source_dirs[0],
                     c->nsource_dirs > 1 ? " and the other folders of --source" : "");
        tc_raise(c, "ModuleNotFoundError", "No module named '%s'" TC_DETAIL " in the model language (a sibling file needs --source DIR)", name);
    }
    return m;
}
