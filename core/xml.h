/* XML, as it is written. */
#ifndef ASSAY_CORE_XML_H
#define ASSAY_CORE_XML_H

#include <stdio.h>

/* Text of an element or an attribute. */
void xml_text(FILE *to, const char *text);

#endif
