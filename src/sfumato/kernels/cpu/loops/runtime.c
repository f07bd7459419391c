/* The part of numba's runtime that compiled loops use, without numba and Python: allocating and freeing memory. Nothing
   here raises, because loops report no errors; calls that would are never reached. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Memory {
    size_t references;
    void (*destroy)(void *, size_t, void *);
    void *information, *data;
    size_t size;
    void *owner;
} Memory;

Memory *NRT_MemInfo_alloc_aligned(size_t size, unsigned alignment) {
    Memory *memory;
    size_t head = (sizeof(Memory) + alignment - 1) / alignment * alignment;
    size_t whole = (head + size + alignment - 1) / alignment * alignment;
    if (posix_memalign((void **)&memory, alignment < 64 ? 64 : alignment, whole)) return NULL;
    *memory = (Memory){1, NULL, NULL, (char *)memory + head, size, NULL};
    return memory;
}

Memory *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 64); }
void NRT_MemInfo_call_dtor(Memory *memory) { free(memory); }
void *NRT_Allocate(size_t size) { return malloc(size); }
void NRT_Free(void *memory) { free(memory); }

#define NEVER(name) void name(void) { fputs(#name " was called by a loop\n", stderr); abort(); }
NEVER(NRT_MemInfo_new_varsize_dtor) NEVER(NRT_MemInfo_varsize_realloc)
NEVER(PyBytes_FromStringAndSize) NEVER(PyErr_Clear) NEVER(PyErr_SetNone) NEVER(PyErr_SetString)
NEVER(PyErr_WriteUnraisable) NEVER(PyObject_Hash) NEVER(PyTuple_Pack) NEVER(PyUnicode_FromKindAndData)
NEVER(PyUnicode_FromString) NEVER(Py_DecRef)
NEVER(numba_attempt_nocopy_reshape) NEVER(numba_do_raise) NEVER(numba_gil_ensure) NEVER(numba_gil_release)
NEVER(numba_runtime_build_excinfo_struct) NEVER(numba_unpickle)
void *PyExc_RuntimeError, *PyExc_StopIteration, *PyExc_SystemError;
