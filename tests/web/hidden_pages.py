"""Pages with one marked text each, and whether Chromium 1280 x 800 paints it: the pixels of its window
change with the text, or they do not.
"""

STANDARD = "<!doctype html>"


def sheet(css, html="<p class=x>SECRET</p>"):
    return f"{STANDARD}<style>{css}</style>{html}"


def own(style, tag="p"):
    return f'{STANDARD}<{tag} style="{style}">SECRET</{tag}>'


CASES = {
    # The order of declarations.
    "important beats a later one": own("display:none !important; display:block"),
    "a later one beats an earlier one": own("display:none; display:block"),
    "important in a sheet beats the element": sheet(
        ".x{display:none !important}", "<p class=x style='display:block'>SECRET</p>"
    ),
    "the element beats a sheet": sheet(
        ".x{display:none}", "<p class=x style='display:block'>SECRET</p>"
    ),
    "important of the element beats that of a sheet": sheet(
        ".x{display:none!important}", "<p class=x style='display:block!important'>SECRET</p>"
    ),
    "important with blanks and comments": own("display:none ! /**/ IMPORTANT; display:block"),
    "important that is misspelled": own("display:none !importent"),
    "an id beats a class": sheet(
        "#i{display:block} .x{display:none}", "<p class=x id=i>SECRET</p>"
    ),
    "two classes beat one": sheet(
        ".x.y{display:block} .x{display:none}", "<p class='x y'>SECRET</p>"
    ),
    "the later of two sheets": f"{STANDARD}<style>.x{{display:none}}</style><p class=x>SECRET</p>"
    "<style>.x{display:block}</style>",
    "a sheet shows what an attribute hides": sheet("p{display:block}", "<p hidden>SECRET</p>"),
    "a style shows what an attribute hides": f"{STANDARD}<p hidden style='display:block'>SECRET</p>",
    "hidden until found": f"{STANDARD}<p hidden=until-found>SECRET</p>",
    "a dialog that a sheet shows": sheet("dialog{display:block}", "<dialog>SECRET</dialog>"),
    "where adds nothing": sheet(
        ":where(#i.x){display:none} p{display:block}", "<p id=i class=x>SECRET</p>"
    ),
    # Values that are invalid.
    "an unknown keyword": own("display:nonee"),
    "an invalid value after a valid one": own("display:none; display:nope"),
    "an invalid value after one that shows": own("display:block; display:hidden"),
    "a length without unit": own("position:absolute; left:-9999"),
    "a length without unit in quirks mode": '<p style="position:absolute; left:-9999">SECRET</p>',
    "a font size without unit": own("font-size:1"),
    "an unknown unit": own("font-size:0pixels"),
    "a negative font size": own("font-size:-5px"),
    "an unknown colour": own("color:transparant"),
    "a broken hexadecimal colour": own("color:#00000"),
    "two values for one": own("visibility:hidden hidden"),
    "no colon": own("display none"),
    "a stray bracket": own("display:none)"),
    "an open bracket swallows the rest": own("color:rgb(0,0,0; display:none"),
    "a semicolon in a string": own("--a:';display:none'"),
    "a brace in a string": sheet(".a::before{content:'}'} .x{display:none}"),
    "an invalid selector drops its list": sheet(".x, ..y {display:none}"),
    "an unknown pseudo-class drops its list": sheet(".x, p:nonsense {display:none}"),
    "opacity with a unit": own("opacity:0px"),
    "an empty value": own("display:"),
    # At-rules.
    "a charset before": sheet("@charset 'utf-8'; .x{display:none}"),
    "an import before": sheet("@import 'nothing.css'; .x{display:none}"),
    "a namespace before": sheet("@namespace url(http://www.w3.org/1999/xhtml); .x{display:none}"),
    "an unknown at-rule before": sheet("@nothing foo; .x{display:none}"),
    "an unknown at-rule with a block": sheet("@nothing { .x{display:none} }"),
    "media all": sheet("@media all{.x{display:none}}"),
    "media screen": sheet("@media only screen and (min-width:100px){.x{display:none}}"),
    "media print": sheet("@media print{.x{display:none}}"),
    "media of narrow windows": sheet("@media (max-width:600px){.x{display:none}}"),
    "media not print": sheet("@media not print{.x{display:none}}"),
    "a sheet for print": f"{STANDARD}<style media=print>p{{display:none}}</style><p>SECRET</p>",
    "a sheet of another type": f"{STANDARD}<style type=text/plain>p{{display:none}}</style><p>SECRET</p>",
    "supports what is known": sheet("@supports (display:grid){.x{display:none}}"),
    "supports what is unknown": sheet("@supports (display:nonsense){.x{display:none}}"),
    "a layer hides": sheet("@layer a{.x{display:none}}"),
    "a layer loses against no layer": sheet(".x{display:block} @layer a{p.x{display:none}}"),
    "keyframes are no rules": sheet("@keyframes k{from{display:none}} .x{color:red}"),
    "an open comment": sheet(".x{color:red} /* .x{display:none}"),
    "an open block": sheet(".x{display:none"),
    "the marks of a comment of HTML": sheet("<!-- .x{display:none} -->"),
    "a brace too many": sheet("} .x{display:none}"),
    "a rule inside of a rule": sheet("p{color:red; .y{display:none} } .x{color:blue}"),
    # Selectors.
    "an escaped class": sheet(r".\78{display:none}"),
    "an escaped class with a blank": sheet(r".\000078 {display:none}"),
    "an escaped sign": sheet(r".sm\:x{display:none}", "<p class='sm:x'>SECRET</p>"),
    "an escaped property": own(r"d\69splay:none"),
    "an escaped keyword": own(r"display:n\6f ne"),
    "an escape that is no ident": own(r"display\:none"),
    "a descendant": sheet(".a .x{display:none}", "<div class=a><b><p class=x>SECRET</p></b></div>"),
    "no descendant": sheet(".a .x{display:none}"),
    "a child": sheet(".a>.x{display:none}", "<div class=a><p class=x>SECRET</p></div>"),
    "no child": sheet(".a>.x{display:none}", "<div class=a><div><p class=x>SECRET</p></div></div>"),
    "an attribute": sheet("[data-a=b]{display:none}", "<p data-a=b>SECRET</p>"),
    "the begin of an attribute": sheet(
        "p[class^='se']{display:none}", "<p class=secret>SECRET</p>"
    ),
    "not a class": sheet("p:not(.y){display:none}"),
    "not this class": sheet("p:not(.x){display:none}"),
    "is one of": sheet(":is(b,.x){display:none}"),
    "only where a mouse is": sheet(".x:hover{display:none}"),
    "everything in the body": sheet("body *{display:none}"),
    "class names have case": sheet(".X{display:none}"),
    "class names have no case in quirks mode": "<style>.X{display:none}</style><p class=x>SECRET</p>",
    # What is handed down.
    "a visible child of an invisible element": own("visibility:hidden", "div").replace(
        "SECRET", "<p style='visibility:visible'>SECRET</p>"
    ),
    "a child of an invisible element": own("visibility:hidden", "div").replace(
        "SECRET", "<p style='color:red'>SECRET</p>"
    ),
    "a child with a size of its own": own("font-size:0", "div").replace(
        "SECRET", "<p style='font-size:12px'>SECRET</p>"
    ),
    "a child with a size of its parent": own("font-size:0", "div").replace(
        "SECRET", "<p style='font-size:2em'>SECRET</p>"
    ),
    "a child with a colour of its own": own("color:transparent", "div").replace(
        "SECRET", "<b style='color:red'>SECRET</b>"
    ),
    "a child that is displayed": own("display:none", "div").replace(
        "SECRET", "<p style='display:block'>SECRET</p>"
    ),
    "a child of a faded element": own("opacity:0", "div").replace(
        "SECRET", "<p style='opacity:1'>SECRET</p>"
    ),
    "visibility that is inherited by word": own("visibility:hidden", "div").replace(
        "SECRET", "<p style='visibility:inherit'>SECRET</p>"
    ),
    # Amounts.
    "calc of nothing": own("font-size:calc(1px - 1px)"),
    "calc of something": own("font-size:calc(1px + 1em)"),
    "calc far away": own("position:absolute; left:calc(-100vw * 10)"),
    "calc nearby": own("position:absolute; left:calc(50% - 100px)"),
    "calc without blanks": own("font-size:calc(1px-1px)"),
    "calc of opacity": own("opacity:calc(1 - 1)"),
    "the smaller of two": own("font-size:min(0px, 12px)"),
    "clamped": own("font-size:clamp(10px, 0px, 20px)"),
    "nested calc": own("font-size:calc((2em - 1em) * 0)"),
    "inset far away": own("position:fixed; inset:-9999px auto auto -9999px"),
    "inset of four": own("position:fixed; inset:auto auto auto -9999px"),
    "inset nearby": own("position:absolute; inset:0"),
    "a logical inset": own("position:absolute; inset-inline-start:-9999px"),
    "moved without a position": own("left:-9999px"),
    "moved by a relative position": own("position:relative; left:-9999px"),
    "far to the other side": own("position:absolute; right:9999px"),
    "a margin far away": own("margin-left:-9999px"),
    "a margin of four": own("margin:0 0 0 -9999px"),
    "an indent in percent": own("text-indent:-150%"),
    # Shapes, sizes and colours.
    "a clip without a position": own("clip:rect(0,0,0,0)"),
    "a clip with a position": own("position:absolute; clip:rect(0,0,0,0)"),
    "a clip with room": own("position:absolute; clip:rect(0,500px,500px,0)"),
    "a circle of nothing": own("clip-path:circle(0)"),
    "an inset of two sides": own("clip-path:inset(0 50%)"),
    "a polygon of one point": own("clip-path:polygon(0 0, 0 0, 0 0)"),
    "scaled to nothing": own("transform:scale(0)"),
    "the property scale": own("scale:0"),
    "scaled in a line": own("transform:scale(0)", "span"),
    "turned to its edge": own("transform:rotateY(90deg)"),
    "no height in a line": own("height:0; overflow:hidden", "span"),
    "no height and cut off": own("height:0; overflow:hidden"),
    "no height, but padding": own("height:0; overflow:hidden; padding-bottom:50px"),
    "no height, but a least one": own("height:0; min-height:40px; overflow:hidden"),
    "no height in two values": own("height:0; overflow:hidden visible"),
    "white on white": own("color:#fff"),
    "white on a dark parent": own("background:#000", "div").replace(
        "SECRET", "<p style='color:#fff'>SECRET</p>"
    ),
    "the colour of the parent": own("background:navy", "div").replace(
        "SECRET", "<p style='color:#000080'>SECRET</p>"
    ),
    "a fill without colour": own("-webkit-text-fill-color:transparent"),
    "a colour without strength": own("color:hsl(0 0% 0% / 0)"),
    "a colour with strength": own("color:rgb(0 0 0 / 1)"),
    "nothing of a font": own("font:0/0 a"),
    "a font without a family": own("font:0"),
    "faded by a sheet": sheet(".x{opacity:0}"),
    "faded by a filter": own("filter:opacity(0%)"),
    "a filter that blurs": own("filter:opacity(1)"),
    "content that is hidden": own("content-visibility:hidden"),
    "collapsed": own("visibility:collapse"),
    "shown after all": own("display:none; display:revert"),
    "of the initial value": sheet(
        ".x{display:none}", "<p class=x style='display:initial'>SECRET</p>"
    ),
    # A second look, written after the first ones were right.
    "upper case everywhere": own("DISPLAY:NONE"),
    "a comment inside of a keyword": own("display:no/**/ne"),
    "a tab and a line feed": own("display:\n\tnone"),
    "two semicolons": own(";;display:none;;"),
    "a selector of only a tag": sheet("P{display:none}"),
    "a group of selectors": sheet("h1,h2,\n.x,.y{display:none}"),
    "a selector list with an empty part": sheet(".x,,.y{display:none}"),
    "a pseudo-element": sheet(".x::before{display:none}"),
    "an id with an escape": sheet(r"#\31 23{display:none}", "<p id=123>SECRET</p>"),
    "a class that begins with a digit": sheet(".1x{display:none}", "<p class=1x>SECRET</p>"),
    "an attribute with another value": sheet("[data-a=c]{display:none}", "<p data-a=b>SECRET</p>"),
    "an attribute with a word": sheet("[class~=b]{display:none}", "<p class='a b'>SECRET</p>"),
    "a child of a child": sheet("div>div>p{display:none}", "<div><div><p>SECRET</p></div></div>"),
    "a descendant through a child": sheet(
        ".a .b>p{display:none}",
        "<div class=a><div class=b><div><div class=b><p>SECRET</p></div></div></div></div>",
    ),
    "the root": sheet(":root p{display:none}"),
    "the body and its child": sheet("body>p{display:none}"),
    "important in a layer": sheet(
        ".x{display:block!important} @layer a{.x{display:none!important}}"
    ),
    "the order of layers": sheet(
        "@layer a,b; @layer b{.x{display:none}} @layer a{.x{display:block}}"
    ),
    "a layer inside of a layer": sheet("@layer a{@layer b{.x{display:none}}}"),
    "media inside of supports": sheet("@supports (color:red){@media screen{.x{display:none}}}"),
    "not supported": sheet("@supports not (display:grid){.x{display:none}}"),
    "media of wide windows": sheet(
        "@media (min-width:1000px) and (max-width:2000px){.x{display:none}}"
    ),
    "media of one of two": sheet("@media print, screen{.x{display:none}}"),
    "media of nonsense": sheet("@media nonsense{.x{display:none}}"),
    "a dark page": sheet("@media (prefers-color-scheme:dark){.x{display:none}}"),
    "a rule after a rule in a block": sheet(".x{.y{color:red} display:none}"),
    "a custom property": own("--x:none; display:block"),
    "rgba with commas": own("color:rgba(10,20,30,0)"),
    "rgba in percent": own("color:rgb(0% 0% 0% / 0%)"),
    "three hexadecimal digits": own("color:#fff; background:#000"),
    "white by another name": own("color:white; background-color:rgb(255,255,255)"),
    "nearly white": own("color:#fefefe"),
    "a background picture": own("color:#fff; background:linear-gradient(#000,#000)"),
    "white on a black body": sheet("body{background:#000}", "<p style='color:#fff'>SECRET</p>"),
    "black on a black body": sheet("body{background:#000}"),
    "the colour of a sheet": sheet(".x{color:#fff}"),
    "initial colour": own("color:transparent", "div").replace(
        "SECRET", "<p style='color:initial'>SECRET</p>"
    ),
    "a font size in percent": own("font-size:0%"),
    "a font size by word": own("font-size:xx-small"),
    "a font with everything": own("font:italic bold 0 serif"),
    "a font of usual size": own("font:italic bold 12px/30px Georgia, serif"),
    "a top far away": own("position:absolute; top:-9999px"),
    "a bottom far away": own("position:fixed; bottom:9999px"),
    "a sticky element": own("position:sticky; top:-9999px"),
    "a static element": own("position:static; top:-9999px"),
    "moved by the property translate": own("translate:-9999px 0"),
    "moved by three numbers": own("transform:translate3d(-9999px,0,0)"),
    "moved a little": own("transform:translate(10px, 20px)"),
    "a matrix of nothing": own("transform:matrix(0,0,0,0,0,0)"),
    "an invalid transformation": own("transform:scale(0) nonsense"),
    "scaled by half": own("transform:scale(.5)"),
    "no width and cut off": own("width:0; overflow:hidden"),
    "no width": own("width:0"),
    "no greatest height and cut off": own("max-height:0; overflow:clip"),
    "a height in percent": own("height:0%; overflow:hidden"),
    "cut off in a block of a line": own(
        "display:inline-block; width:0; height:0; overflow:hidden", "span"
    ),
    "an ellipse of nothing": own("clip-path:ellipse(0 0)"),
    "an inset of a little": own("clip-path:inset(1px)"),
    "a clip that is invalid": own("position:absolute; clip:rect(0)"),
    "a fade of half": own("opacity:.5"),
    "a fade in percent": own("opacity:0%"),
    "a fade below zero": own("opacity:-1"),
    "a float without height": own("float:left; height:0; overflow:hidden", "span"),
    "a table row": f"{STANDARD}<table><tr style='display:none'><td>SECRET</table>",
    "an open popover": sheet("[popover]{display:block}", "<div popover>SECRET</div>"),
    "contents": own("display:contents"),
    "an image behind a url": own("color:#fff; background:url(nothing.png) #000"),
}

# Those whose text the browser paints.
SHOWN = {
    "a later one beats an earlier one",
    "the element beats a sheet",
    "important of the element beats that of a sheet",
    "important that is misspelled",
    "an id beats a class",
    "two classes beat one",
    "the later of two sheets",
    "a sheet shows what an attribute hides",
    "a style shows what an attribute hides",
    "a dialog that a sheet shows",
    "where adds nothing",
    "an unknown keyword",
    "an invalid value after one that shows",
    "a length without unit",
    "a font size without unit",
    "an unknown unit",
    "a negative font size",
    "an unknown colour",
    "a broken hexadecimal colour",
    "two values for one",
    "no colon",
    "a stray bracket",
    "an open bracket swallows the rest",
    "a semicolon in a string",
    "an invalid selector drops its list",
    "an unknown pseudo-class drops its list",
    "opacity with a unit",
    "an empty value",
    "an unknown at-rule with a block",
    "media print",
    "media of narrow windows",
    "a sheet for print",
    "a sheet of another type",
    "supports what is unknown",
    "a layer loses against no layer",
    "keyframes are no rules",
    "an open comment",
    "a brace too many",
    "a rule inside of a rule",
    "an escape that is no ident",
    "no descendant",
    "no child",
    "not this class",
    "only where a mouse is",
    "class names have case",
    "a visible child of an invisible element",
    "a child with a size of its own",
    "a child with a colour of its own",
    "calc of something",
    "calc nearby",
    "calc without blanks",
    "clamped",
    "inset nearby",
    "moved without a position",
    "a clip without a position",
    "a clip with room",
    "scaled in a line",
    "no height in a line",
    "no height, but padding",
    "no height, but a least one",
    "white on a dark parent",
    "a colour with strength",
    "a font without a family",
    "a filter that blurs",
    "shown after all",
    "of the initial value",
    "a comment inside of a keyword",
    "a selector list with an empty part",
    "a pseudo-element",
    "a class that begins with a digit",
    "an attribute with another value",
    "not supported",
    "media of nonsense",
    "a dark page",
    "a custom property",
    "three hexadecimal digits",
    "a background picture",
    "white on a black body",
    "initial colour",
    "a font size by word",
    "a font of usual size",
    "a sticky element",
    "a static element",
    "moved a little",
    "an invalid transformation",
    "scaled by half",
    "no width",
    "a height in percent",
    "an inset of a little",
    "a clip that is invalid",
    "a fade of half",
    "an open popover",
    "contents",
    "an image behind a url",
}
