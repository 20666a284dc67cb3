/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How struct tl_task_args names its first fault, between the functions that add and the plan that reports:
 *   TL_EINVAL   a NULL tensor, at error_index
 *   TL_ENOSPC   more than TL_MAX_TENSORS tensors
 *   TL_ERANGE   more than TL_MAX_SCALARS scalars
 *   TL_ENOTSUP  scalar error_index has a dtype that does not fit its size
 *   TL_ENOENT   a mark of something that was not added; error_index is one of the two below
 */
#ifndef TL_GRAPH_TASK_ARGS_H
#define TL_GRAPH_TASK_ARGS_H

#include <tasklens/task.h>

#define TL_MARKED_TENSOR (-1)
#define TL_MARKED_SCALAR (-2)

#endif
