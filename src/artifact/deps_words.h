/* SPDX-License-Identifier: Apache-2.0 */
/* Words of deps.json that its reader and its writer share. */
#ifndef TL_ARTIFACT_DEPS_WORDS_H
#define TL_ARTIFACT_DEPS_WORDS_H

#define TL_DEPS_SCOPES                                                                                                 \
    {                                                                                                                  \
        "auto", "manual"                                                                                               \
    }
/* By enum tl_direction. */
#define TL_DEPS_ARG_TYPES                                                                                              \
    {                                                                                                                  \
        "NO_DEP", "INPUT", "OUTPUT", "INOUT", "OUTPUT_EXISTING"                                                        \
    }
#define TL_DEPS_SOURCES                                                                                                \
    {                                                                                                                  \
        "explicit", "creator", "tensormap"                                                                             \
    }
/* By enum tl_deps_overlap, TL_DEPS_COVERED first. */
#define TL_DEPS_OVERLAPS                                                                                               \
    {                                                                                                                  \
        "covered", "other"                                                                                             \
    }
/* By bit. */
#define TL_DEPS_FLAGS                                                                                                  \
    {                                                                                                                  \
        "wait", "retain"                                                                                               \
    }

#endif
