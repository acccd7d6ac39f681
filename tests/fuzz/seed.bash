# seed TARGET FOLDER: copies the committed seeds of a fuzz target: files of tests/fuzz/seeds/TARGET, PyTorch's own from tests/oracle, the bad files of
# tests/bad, model sources. Sourced from the root of the repository by tests/fuzz/run and tests/fuzz/cover.
stored_programs() { # the models/*.json of an archive, by its central directory; PyTorch compresses nothing
    perl -0777 -ne '
        while (/PK\x01\x02.{16}(.{4}).{4}(.{2}).{12}(.{4})/sg) {
            my ($size, $name, $at) = (unpack("V", $1), substr($_, pos, unpack("v", $2)), unpack("V", $3));
            print substr($_, $at + 30 + unpack("v", substr($_, $at + 26, 2)) + unpack("v", substr($_, $at + 28, 2)), $size) if $name =~ m{/models/[^/]*\.json$};
        }' "$1"
}
seed() {
    local f to=$2
    [ -d "tests/fuzz/seeds/$1" ] && cp tests/fuzz/seeds/"$1"/* "$to/"
    case $1 in
    zip) cp tests/oracle/pt2/*.pt2 tests/bad/*.pt2 tests/bad/*.np? tests/bad/*.pt tests/bad/*.pth "$to/" ;;
    onnx)
        for f in tests/oracle/onnx/node/*; do
            cp "$f/model.onnx" "$to/${f##*/}.onnx"
            cp "$f/test_data_set_0/input_0.pb" "$to/${f##*/}.pb"
        done
        cp tests/bad/*.onnx "$to/"
        ;;
    image) cp tests/oracle/images/* "$to/" ;;
    tensors) cp tests/oracle/pt2/*.safetensors tests/bad/*.npy tests/bad/*.safetensors "$to/" ;;
    saved) cp tests/bad/*.pt tests/bad/*.pth tests/bad/*.tar tests/bad/*.npz "$to/" ;;
    dcp) for f in tests/bad/*/.metadata tests/bad/*/*.json; do cp "$f" "$to/$(tr / - <<<"$f")"; done ;;
    lang) cp tests/language/*.py tc-train/examples/*.py "$to/" ;;
    json | pt2)
        for f in tests/oracle/pt2/*.pt2 tests/bad/*.pt2; do
            stored_programs "$f" >"$to/${f##*/}.json"
            [ -s "$to/${f##*/}.json" ] || rm -f "$to/${f##*/}.json"
        done
        ;;
    esac
}
