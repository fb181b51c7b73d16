/* Loading a file that kernel_file.h has read, into this process. */
#ifndef ASSAY_ENGINE_SHARED_OBJECT_H
#define ASSAY_ENGINE_SHARED_OBJECT_H

/* `paths` as kernel_file.loaded has them: the last is the file itself, those before it are the
 * libraries that it needs. Returns NULL, or the loader's own words for the error. */
const char *shared_object_load(const char *paths, void **object);

#endif
