/* What makes of the core the archive that programs compiled with the hooks are linked with. */
#pragma once

/* Functions that stand before others (runtime.h) are weak, so that a program with its own malloc (say) keeps it. */
#define INTERPOSE __attribute__((visibility("default"), weak, section(HN_ENTRY_POINTS)))
#define HN_NAME "homenode hooks: "
#define HN_TLS_MODEL "local-exec"

/* Nothing beyond what the core keeps. */
struct hn_product {};
